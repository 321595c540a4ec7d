// Switches the guest off.
#include <sys/reboot.h>
#include <unistd.h>

int main(void) {
    sync();
    return reboot(RB_POWER_OFF);
}
