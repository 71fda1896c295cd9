import type { TestAPI } from 'vitest';
import type { Stage } from './stage.js';

/** `test`, with a stage for each test and its books checked afterwards. */
export type StageTest = TestAPI<{ stage: Stage }>;
