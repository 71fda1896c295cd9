/** A database that does nothing and does it at once, so that what remains is the cost of the code around it. */
export const instantPool = {
  async getConnection() {
    return new InstantConnection();
  },
};

class InstantConnection {
  #committed = false;
  async beginTransaction() {}
  async commit() {
    this.#committed = true;
  }
  async rollback() {}
  async query() {
    return [{ stored: true }];
  }
  release() {
    if (!this.#committed) throw new Error('released without COMMIT');
  }
}

export const INSERT = 'INSERT INTO orders VALUES ($1) RETURNING stored';

/** What the documentation of every pool shows. */
export async function insertDirectly() {
  const connection = await instantPool.getConnection();
  try {
    await connection.beginTransaction();
    const [order] = await connection.query(INSERT, [1]);
    await connection.commit();
    return order;
  } catch (error) {
    await connection.rollback();
    throw error;
  } finally {
    connection.release();
  }
}
