/** The benchmark of containers; the options are those of `scope/run.mjs`. The others have a `run.mjs` in a folder of their own. */
await import('./scope/run.mjs');
