CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  product TEXT NOT NULL,
  quantity INTEGER NOT NULL
);
CREATE TABLE stock (
  product TEXT PRIMARY KEY,
  level INTEGER NOT NULL
);
INSERT INTO stock (product, level) VALUES ('apple', 10);
