import { probe } from './probe.js';

console.log(await probe());
