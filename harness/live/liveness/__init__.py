"""Does the server keep working: hangs, stuck queues, noisy neighbours, recovery."""
