import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where what is measured is written, within bench/, whose packages it imports. */
export const folder = fileURLToPath(new URL('generated', import.meta.url));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

/** The file of a project with the options that people use. @param {string} name */
export function writeProject(name) {
  const file = join(folder, name);
  const compilerOptions = {
    strict: true,
    target: 'es2023',
    module: 'nodenext',
    noEmit: true,
    skipLibCheck: true,
    types: [],
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
  return file;
}
