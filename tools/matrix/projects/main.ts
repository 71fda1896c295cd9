import { entryPoints } from './entry-points.js';
import { storedProducts } from './orders.js';

async function main(): Promise<void> {
  for (const [name, exported] of Object.entries(entryPoints))
    if (Object.keys(exported).length === 0) throw new Error(`${name} exports nothing`);
  const stored = (await storedProducts()).join();
  if (stored !== 'pen') throw new Error(`stored: ${stored}`);
  console.log('ok');
}

void main();
