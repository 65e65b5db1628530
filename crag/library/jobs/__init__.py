"""Adding in the background, by whichever process is alive."""
