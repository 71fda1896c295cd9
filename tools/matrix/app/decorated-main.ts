import { decorated } from './decorated.ts';

console.log(await decorated());
