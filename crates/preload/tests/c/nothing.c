/* Reads of nothing, from no stream. */
#include "place.h"

int main(void)
{
    static char bytes[8];
    FILE *volatile none = NULL;
    printf("%zu %zu\n", fread(bytes, 1, 0, none), fread(bytes, 0, 5, none));
    return 0;
}
