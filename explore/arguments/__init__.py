"""The words of the commands of `explore`: their names, their parsers and the options they share."""
