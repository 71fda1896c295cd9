export default { test: { include: ['vitest.test.ts'] } };
