/** Bundles the page of the household into `public/household.js`. */
import { join } from 'node:path'
import { build } from 'rolldown'

const folder = import.meta.dirname
/** The conditions of this process, with which a checkout of Troupe resolves the package to its sources. */
const conditions = process.execArgv
  .filter((option) => option.startsWith('--conditions='))
  .map((option) => option.slice('--conditions='.length))

await build({
  cwd: folder,
  input: 'page/main.tsx',
  platform: 'browser',
  // The configuration in `page` belongs to a checkout of Troupe, and is absent in a copy of this folder.
  tsconfig: false,
  resolve: { conditionNames: [...conditions, 'browser', 'import', 'default'] },
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  output: { file: join(folder, 'public/household.js'), minify: true },
})
