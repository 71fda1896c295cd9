import { writeFileSync } from 'node:fs';
import { openApiDocument } from './document.js';

writeFileSync('docs/openapi.json', `${JSON.stringify(openApiDocument(), undefined, 2)}\n`);
