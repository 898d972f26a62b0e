/** Every row of the table of compatibility. */
import { aiPackages } from './ai-packages.ts'
import { aiShapes } from './ai-shapes.ts'
import { deploymentRows } from './deployment.ts'
import { identityProviders } from './identity-providers.ts'
import { loopbackRows } from './loopback.ts'
import { oauthClients } from './oauth-clients.ts'
import { oauthShapes } from './oauth-shapes.ts'
import { programRows } from './programs.ts'
import { proxyRows } from './proxies.ts'
import { libraryRows } from './python-library.ts'
import type { CompatRow } from './row.ts'

export const rows: readonly CompatRow[] = [
  ...aiPackages,
  ...aiShapes,
  ...oauthClients,
  ...oauthShapes,
  ...loopbackRows,
  ...identityProviders,
  ...programRows,
  ...proxyRows,
  ...libraryRows,
  ...deploymentRows,
]
