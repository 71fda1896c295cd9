import { hosts, infrastructure } from '../infrastructure.js';
import { alias, feature, of } from '../lifetimes.js';
import { type IUserRepository, UserRepository } from './user-repository.js';

export const users = feature(
  'users',
  {
    IQueryable: alias({ request: 'IDatabasePool', transaction: 'IConnection' }),
    IUserRepository: of(['request', 'transaction'], UserRepository, ['IQueryable']).as<IUserRepository>(),
  },
  hosts,
  infrastructure,
);
