/** The benchmark of containers; the options are those of `scope/run.mjs`. The others are `bench/*/run.mjs`. */
await import('./scope/run.mjs');
