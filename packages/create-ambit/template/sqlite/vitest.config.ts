import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { dir: 'test', env: { DATABASE_FILE: ':memory:' } },
});
