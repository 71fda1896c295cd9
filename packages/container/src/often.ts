import type { Resolver } from './templates.js';
import type { Key } from './keys.js';

const NO_KEY = Symbol('no key');
const NOTHING: Resolver = () => undefined;

/** The first four keys of a shape that turned out to be resolved often: to compare four keys is faster than to look into a map. */
export class Often {
  key1: Key = NO_KEY;
  key2: Key = NO_KEY;
  key3: Key = NO_KEY;
  key4: Key = NO_KEY;
  get1 = NOTHING;
  get2 = NOTHING;
  get3 = NOTHING;
  get4 = NOTHING;

  add(key: Key, get: Resolver): void {
    if (this.key1 === NO_KEY) [this.key1, this.get1] = [key, get];
    else if (this.key2 === NO_KEY) [this.key2, this.get2] = [key, get];
    else if (this.key3 === NO_KEY) [this.key3, this.get3] = [key, get];
    else if (this.key4 === NO_KEY) [this.key4, this.get4] = [key, get];
  }
}
