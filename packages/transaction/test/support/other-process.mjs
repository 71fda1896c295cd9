// Another program on the same SQLite file. Does what its parent tells it, one message at a time.
import Libsql from 'libsql';

const database = new Libsql(process.argv[2], { timeout: 5000 });
process.on('message', (sql) => {
  database.exec(sql);
  process.send('done');
});
process.send('done');
