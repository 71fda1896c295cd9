import { disposeOnSignal } from '@ambit/express';
import { createApp } from './app.ts';
import { createContainer } from './graph.ts';

const { DATABASE_URL, FILE = 'conduit.db', JWT_SECRET, PORT = '3000' } = process.env;
if (!JWT_SECRET) throw new Error('Set JWT_SECRET to a long random text: it signs the tokens of all users');

const container = createContainer({ databaseUrl: DATABASE_URL, file: FILE, secret: JWT_SECRET });
await container.start();
const server = createApp(container).listen(Number(PORT), () => console.log(`Listening on port ${PORT}`));
disposeOnSignal(server, container);
