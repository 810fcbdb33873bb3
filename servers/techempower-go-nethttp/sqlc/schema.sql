CREATE TABLE world (id integer PRIMARY KEY, randomnumber integer NOT NULL);
CREATE TABLE fortune (id integer PRIMARY KEY, message varchar(2048) NOT NULL);
