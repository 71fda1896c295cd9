import { defineConfig } from 'vitest/config';

// What is set in the environment counts more, as in a pipeline that has its own database.
process.loadEnvFile(new URL('.env.development', import.meta.url));

export default defineConfig({
  test: { dir: 'test' },
});
