// Moves a tenant, and says what it does: `node dist/tenants/move-tenant.js acme primary-2`. It can be stopped and run again.
import { Directory } from './directory.ts';
import { moveTenant } from './move.ts';

const [tenant, target] = process.argv.slice(2);
if (tenant === undefined || target === undefined) throw new Error('Name the tenant and the primary that it moves to');
const directory = new Directory(process.env['DIRECTORY_URL'] ?? 'postgres://postgres@127.0.0.1:5432/directory');
try {
  for await (const step of moveTenant(directory, tenant, target)) console.log(step);
} finally {
  await directory[Symbol.asyncDispose]();
}
