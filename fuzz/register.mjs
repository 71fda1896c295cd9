import { register } from 'node:module';

// oxlint-disable-next-line typescript/no-deprecated -- Node 20 has no registerHooks()
register('./loader.mjs', import.meta.url);
