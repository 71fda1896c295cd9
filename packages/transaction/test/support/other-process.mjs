// Another program on the same SQLite file. Does what its parent tells it, one message at a time.
import { createRequire } from 'node:module';

const library = process.getBuiltinModule('node:sqlite') ?? createRequire(import.meta.url)('@photostructure/sqlite');
const database = new library.DatabaseSync(process.argv[2], { timeout: 5000 });
process.on('message', (sql) => {
  database.exec(sql);
  process.send('done');
});
process.send('done');
