"""The kinematics of bones: poses, limits of joints, and reach."""
