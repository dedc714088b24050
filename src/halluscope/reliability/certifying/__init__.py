"""Measures how far a judge can be believed: people's labels, the errors that they show, and a certificate of both."""
