CREATE TABLE `orders` (
  `id` integer PRIMARY KEY NOT NULL,
  `product` text NOT NULL,
  `quantity` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `stock` (
  `product` text PRIMARY KEY NOT NULL,
  `level` integer NOT NULL
);
--> statement-breakpoint
INSERT INTO stock (product, level) VALUES ('apple', 10);
