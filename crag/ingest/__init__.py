"""From uploads, folders and addresses to stored passages."""
