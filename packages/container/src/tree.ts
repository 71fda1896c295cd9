import type { Container } from './container.js';

/** The scopes below this one, the newest first, each followed by those below it. A loop, as scopes may nest deeper than calls. */
export function descendants(scope: Container): Container[] {
  const all: Container[] = [];
  let at = scope.newest;
  while (at) {
    all.push(at);
    if (at.newest) at = at.newest;
    else {
      while (at && at !== scope && !at.older) at = at.parent;
      at = at === scope ? undefined : at?.older;
    }
  }
  return all;
}
