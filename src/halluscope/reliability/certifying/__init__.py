"""How far a judge can be believed: people's labels, the errors that they show, and the certificate that holds both."""
