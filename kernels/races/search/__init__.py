"""Search: explore a program, confirm, minimise, mend, prove. Front door: `explore.explore`."""
