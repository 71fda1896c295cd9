/** Every benchmark there is; the options are those of `scope/run.mjs`. */
await import('./scope/run.mjs');
