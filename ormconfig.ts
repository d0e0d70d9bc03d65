import { DataSource } from 'typeorm'
import { loadDatabaseConfig } from './src/config/config.js'
import { readEnvironment } from './src/config/environment.js'
import { dataSourceOptions } from './src/database/data-source-options.js'
import { ENTITIES } from './src/entities.js'

/** For TypeORM's command line: `npx typeorm migration:show -d dist/ormconfig.js` after a build. */
export default new DataSource(dataSourceOptions(loadDatabaseConfig(readEnvironment()), ENTITIES, 'migration'))
