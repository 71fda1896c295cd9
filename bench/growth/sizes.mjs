/** How many orders the databases have. The other tables are in proportion. */
export const SIZES = [10_000, 100_000, 1_000_000, 10_000_000];
