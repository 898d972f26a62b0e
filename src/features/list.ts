/** The features of the service, each in a folder with its name. */
import type { Feature } from './feature.ts'
import { exports } from './exports/feature.ts'
import { files } from './files/feature.ts'
import { groups } from './groups/feature.ts'
import { invitations } from './invitations/feature.ts'
import { mail } from './mail/feature.ts'
import { webhooks } from './webhooks/feature.ts'

export const builtInFeatures: readonly Feature[] = [exports, files, groups, invitations, mail, webhooks]
