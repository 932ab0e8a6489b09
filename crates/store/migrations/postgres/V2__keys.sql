-- Secrets of the server itself, made once and shared by all who open the database.
CREATE TABLE keys (
    name    text  NOT NULL PRIMARY KEY,
    secret  bytea NOT NULL CHECK (length(secret) = 32)
);
