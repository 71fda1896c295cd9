import { fromMysql2Pool } from '@ambit/drivers/mysql2';
import mysql from 'mysql2/promise.js';
import { mariadbUrl, prove, TABLE } from './transactions.mjs';

const { hostname: host, port, username: user, password } = new URL(mariadbUrl);
const settings = { host, port: Number(port || 3306), user, password };
const setup = await mysql.createConnection(settings);
await setup.query('CREATE DATABASE IF NOT EXISTS ambit_beside');
await setup.end();
const pool = fromMysql2Pool(mysql.createPool({ ...settings, database: 'ambit_beside' }));
await prove(pool, (connection, id) => connection.query(`INSERT INTO ${TABLE} VALUES ($1)`, [id]));
