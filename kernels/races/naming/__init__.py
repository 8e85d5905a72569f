"""Names for the order that is missing. Front door: `naming.name_race`."""
