-- Secrets of the server itself, made once and shared by all who open the database.
CREATE TABLE keys (
    name    TEXT NOT NULL PRIMARY KEY,
    secret  BLOB NOT NULL CHECK (length(secret) = 32)
) STRICT, WITHOUT ROWID;
