/** Relationships with other actors. */
import type { PageGroup } from '../shared/page-group.ts'
import { relationshipPageRoutes } from './routes.ts'
import { trustPage } from './list-view.ts'
import { trustNewPage } from './request-view.ts'
import { connectionStyle } from './style.ts'
import { trustPeerPage } from './peer-view.ts'
import { trustViewPage } from './view-as-peer-view.ts'

export const relationships = {
  section: { path: '/trust', label: 'connections', icon: 'people' },
  pages: [
    { name: 'trust', template: 'aw-actor-www-trust.html', view: trustPage },
    { name: 'trustNew', template: 'aw-actor-www-trust-new.html', view: trustNewPage },
    { name: 'trustPeer', template: 'aw-actor-www-trust-peer.html', view: trustPeerPage },
    { name: 'trustView', template: 'aw-actor-www-trust-view.html', view: trustViewPage },
  ],
  styles: [connectionStyle],
  routes: relationshipPageRoutes,
} as const satisfies PageGroup
