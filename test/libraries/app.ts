import { Container, Registration, singleton } from '@ambit/container';
import { DATABASES, type DatabaseKind, type DriverName, type TestDatabase } from './databases.js';

/** An application with a database of its own. */
export interface App extends TestDatabase {
  readonly container: Container;
}

export async function openApp(kind: DatabaseKind, driver?: DriverName): Promise<App> {
  const database = await DATABASES[kind](driver);
  const container = new Container();
  container.addRegistration(
    Registration.fromFactory(() => database.pool)
      .pipe(singleton())
      .to('IDatabasePool'),
  );
  return { ...database, container };
}
