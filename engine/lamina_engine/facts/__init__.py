"""Facts: what is known of people, projects and things, since when and until when, and who said so."""
