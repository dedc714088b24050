"""How far a judge can be believed: labels that people gave, what errors they show, and the certificate that holds both."""
