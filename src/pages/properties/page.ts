/** Values and lists. */
import type { PageGroup } from '../shared/page-group.ts'
import { propertyPageRoutes } from './routes.ts'
import { propertiesPage } from './list-view.ts'
import { propertyPage } from './property-view.ts'
import { selectionPage } from './selection-view.ts'
import { listingStyle } from '../listing/style.ts'
import { propertyStyle } from './style.ts'

export const properties = {
  section: { path: '/properties', label: 'properties', icon: 'properties' },
  pages: [
    { name: 'properties', template: 'aw-actor-www-properties.html', view: propertiesPage },
    { name: 'selection', template: 'aw-actor-www-selection.html', view: selectionPage },
    { name: 'property', template: 'aw-actor-www-property.html', view: propertyPage },
  ],
  styles: [listingStyle, propertyStyle],
  routes: propertyPageRoutes,
} as const satisfies PageGroup
