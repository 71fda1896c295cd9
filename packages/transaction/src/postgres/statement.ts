import { Query, type QueryResult } from 'pg';

/** What the driver hands over but does not declare. */
interface CopyingConnection {
  sendCopyFail(why: string): void;
  sync(): void;
}

const declaredNowhere = Query.prototype as unknown as { hasBeenParsed(connection: unknown): unknown };

/**
 * The driver's own statement, made without options: of options it would first make a copy, property by property, and
 * that costs as much as sending the statement.
 */
export class Statement extends Query {
  /** Named, the server parses and plans it once per connection. */
  name: string | undefined = undefined;
  /** The extended protocol takes one statement only, with parameters or without. */
  queryMode: 'extended' | undefined = undefined;
  /** The server was asked to run what it had parsed before. */
  reused = false;

  declare readonly text: string;
  declare callback: (error: Error | undefined, result: QueryResult) => void;

  hasBeenParsed(connection: unknown): boolean {
    return (this.reused = Boolean(declaredNowhere.hasBeenParsed.call(this, connection)));
  }

  /** The server has passed over the Sync that came with the COPY, and after a failure reads nothing before another. */
  handleCopyInResponse(connection: CopyingConnection): void {
    connection.sendCopyFail('query() has nothing to copy from');
    connection.sync();
  }
}
