import { legacy } from './legacy.js';

void legacy().then(console.log);
